/** Operation types of databases; making and removing one is part of its service's. */
export const DATABASE_OPERATIONS = { rotate: 'database.rotate-password' } as const;
